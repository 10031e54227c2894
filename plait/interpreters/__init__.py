"""What a Program can mean: derivative, transpose, batch, and what varies over an axis."""
