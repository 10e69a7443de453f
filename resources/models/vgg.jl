# A small VGG with batch norm, on made data of CIFAR's shape.
using Flux

model = Chain(
    stage1 = Chain(
        Conv((3, 3), 3 => 32; pad = 1, bias = false),
        BatchNorm(32, relu),
        Conv((3, 3), 32 => 32; pad = 1, bias = false),
        BatchNorm(32, relu),
        MaxPool((2, 2)),
    ),
    stage2 = Chain(
        Conv((3, 3), 32 => 64; pad = 1, bias = false),
        BatchNorm(64, relu),
        Conv((3, 3), 64 => 64; pad = 1, bias = false),
        BatchNorm(64, relu),
        MaxPool((2, 2)),
    ),
    stage3 = Chain(
        Conv((3, 3), 64 => 128; pad = 1, bias = false),
        BatchNorm(128, relu),
        Conv((3, 3), 128 => 128; pad = 1, bias = false),
        BatchNorm(128, relu),
        MaxPool((2, 2)),
    ),
    flatten = Flux.flatten,
    fc1 = Dense(2048 => 256, relu),
    fc2 = Dense(256 => 10),
)

loss = logitcrossentropy
optimiser = Adam(0.001)
data = Random((32, 32, 3); classes = 10, samples = 4096, batchsize = 32, shuffle = true)
seed = 1
steps = 200
