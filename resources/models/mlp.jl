# A plain perceptron on Fashion-MNIST.
using Flux

model = Chain(
    Flux.flatten,
    Dense(784 => 512, relu),
    Dense(512 => 256, relu),
    Dense(256 => 10),
)

loss = logitcrossentropy
optimiser = Adam(0.001)
data = FashionMNIST(batchsize = 64, shuffle = true, num_workers = 1, transforms = (Normalise(0.286, 0.353),))
seed = 1
epochs = 2
