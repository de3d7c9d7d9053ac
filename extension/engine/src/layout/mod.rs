//! Lowering: one flat, relocatable image of a checked model, for evaluation.
