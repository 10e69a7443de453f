# ResNet-20 for CIFAR's shape, on made data. The first block of a stage halves the picture; a 1x1 convolution adapts its
# shortcut. Every block ends in relu.
using Flux

model = Chain(
    stem = Chain(
        Conv((3, 3), 3 => 16; pad = 1, bias = false),
        BatchNorm(16, relu),
    ),
    block1a = SkipConnection(
        Chain(
            Conv((3, 3), 16 => 16; pad = 1, bias = false),
            BatchNorm(16, relu),
            Conv((3, 3), 16 => 16; pad = 1, bias = false),
            BatchNorm(16),
        ),
        +,
    ),
    relu1a = relu,
    block1b = SkipConnection(
        Chain(
            Conv((3, 3), 16 => 16; pad = 1, bias = false),
            BatchNorm(16, relu),
            Conv((3, 3), 16 => 16; pad = 1, bias = false),
            BatchNorm(16),
        ),
        +,
    ),
    relu1b = relu,
    block1c = SkipConnection(
        Chain(
            Conv((3, 3), 16 => 16; pad = 1, bias = false),
            BatchNorm(16, relu),
            Conv((3, 3), 16 => 16; pad = 1, bias = false),
            BatchNorm(16),
        ),
        +,
    ),
    relu1c = relu,
    block2a = Parallel(
        +,
        Chain(
            Conv((3, 3), 16 => 32; stride = 2, pad = 1, bias = false),
            BatchNorm(32, relu),
            Conv((3, 3), 32 => 32; pad = 1, bias = false),
            BatchNorm(32),
        ),
        Chain(
            Conv((1, 1), 16 => 32; stride = 2, bias = false),
            BatchNorm(32),
        ),
    ),
    relu2a = relu,
    block2b = SkipConnection(
        Chain(
            Conv((3, 3), 32 => 32; pad = 1, bias = false),
            BatchNorm(32, relu),
            Conv((3, 3), 32 => 32; pad = 1, bias = false),
            BatchNorm(32),
        ),
        +,
    ),
    relu2b = relu,
    block2c = SkipConnection(
        Chain(
            Conv((3, 3), 32 => 32; pad = 1, bias = false),
            BatchNorm(32, relu),
            Conv((3, 3), 32 => 32; pad = 1, bias = false),
            BatchNorm(32),
        ),
        +,
    ),
    relu2c = relu,
    block3a = Parallel(
        +,
        Chain(
            Conv((3, 3), 32 => 64; stride = 2, pad = 1, bias = false),
            BatchNorm(64, relu),
            Conv((3, 3), 64 => 64; pad = 1, bias = false),
            BatchNorm(64),
        ),
        Chain(
            Conv((1, 1), 32 => 64; stride = 2, bias = false),
            BatchNorm(64),
        ),
    ),
    relu3a = relu,
    block3b = SkipConnection(
        Chain(
            Conv((3, 3), 64 => 64; pad = 1, bias = false),
            BatchNorm(64, relu),
            Conv((3, 3), 64 => 64; pad = 1, bias = false),
            BatchNorm(64),
        ),
        +,
    ),
    relu3b = relu,
    block3c = SkipConnection(
        Chain(
            Conv((3, 3), 64 => 64; pad = 1, bias = false),
            BatchNorm(64, relu),
            Conv((3, 3), 64 => 64; pad = 1, bias = false),
            BatchNorm(64),
        ),
        +,
    ),
    relu3c = relu,
    pool = GlobalMeanPool(),
    flatten = Flux.flatten,
    fc = Dense(64 => 10),
)

loss = logitcrossentropy
optimiser = Adam(0.001)
data = Random((32, 32, 3); classes = 10, samples = 4096, batchsize = 32, shuffle = true)
seed = 1
steps = 200
