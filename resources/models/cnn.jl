# Two 3x3 convolutions on Fashion-MNIST.
using Flux

model = Chain(
    Conv((3, 3), 1 => 16, relu; pad = 1),
    MaxPool((2, 2)),
    Conv((3, 3), 16 => 32, relu; pad = 1),
    MaxPool((2, 2)),
    Flux.flatten,
    Dense(1568 => 128, relu),
    Dense(128 => 10),
)

loss = logitcrossentropy
optimiser = Adam(0.001)
data = FashionMNIST(batchsize = 64, shuffle = true, num_workers = 2, transforms = (Normalise(0.286, 0.353),))
seed = 1
epochs = 2
