# LeNet-5 on Fashion-MNIST: the sample of `./dev run`.
using Flux

model = Chain(
    conv1   = Conv((5, 5), 1 => 6, relu),
    pool1   = MaxPool((2, 2)),
    conv2   = Conv((5, 5), 6 => 16, relu),
    pool2   = MaxPool((2, 2)),
    flatten = Flux.flatten,
    fc1     = Dense(256 => 120, relu),
    fc2     = Dense(120 => 84, relu),
    fc3     = Dense(84 => 10),
)

loss = logitcrossentropy
optimiser = Adam(0.001)

data = FashionMNIST(
    batchsize = 64,
    shuffle = true,
    num_workers = 2,
    transforms = (Normalise(0.286, 0.353),)  # mean and standard deviation of the training images
)

seed = 1
epochs = 3
