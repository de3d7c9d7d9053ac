suppressMessages({library(ranger); library(gbm)})
source(commandArgs(TRUE)[2])
set.seed(20261129)
n <- 400
d <- data.frame(a = round(rnorm(n), 3), k = factor(sample(c("Rome", "Oslo", "Bern", "Riga", "Caf\u00e9 \"x\""), n, TRUE)), b = round(rnorm(n), 3))
d$y <- 3 * sin(d$a) + as.integer(d$k) %% 3 + d$b
d$two <- factor(ifelse(d$y > median(d$y), "yes", "no")); d$three <- cut(d$y, quantile(d$y, c(0, .3, .7, 1)), labels = c("low", "mid", "high"), include.lowest = TRUE)
d$count <- rpois(n, exp(d$y / 4)); d$bin <- as.integer(d$two == "yes")
q <- data.frame(a = c(round(rnorm(60), 3), d$a[1:30]), k = factor(sample(levels(d$k), 90, TRUE), levels(d$k)), b = c(rnorm(60), d$b[31:60]))
qm <- q; qm$a[1:10] <- NA; qm$k[5:15] <- NA; qm$b[12:20] <- NA
x <- c("a", "k", "b")
out <- list()
refused <- function(expression, text) stopifnot(grepl(text, tryCatch({ expression; "" }, error = conditionMessage), fixed = TRUE))
refused(write_tree_ensemble(lm(y ~ a, d), "x"), "a model of ranger or gbm is written, not one of class lm")
refused(write_tree_ensemble(ranger(y ~ a + k, d, num.trees = 2, respect.unordered.factors = "partition"), "x"), "give the levels of the factor k")
refused(write_tree_ensemble(ranger(y ~ a, d, num.trees = 2), "x", levels = list(z = "q")), "the forest has no variable z")
dir <- commandArgs(TRUE)[1]; dir.create(dir, FALSE)
keep <- function(name, model, predicted, rows, ...) { write_tree_ensemble(model, file.path(dir, paste0(name, ".json")), ...); 
  p <- predicted; if (is.matrix(p)) p <- lapply(seq_len(nrow(p)), function(i) I(unname(p[i, ]))) else p <- I(unname(p)); out[[name]] <<- list(missing = identical(rows, qm), expected = p) }
f <- function(t) as.formula(paste(t, "~ a + k + b"))
for (mode in c("order", "partition")) {
  m <- ranger(f("y"), d, num.trees = 7, respect.unordered.factors = mode, seed = 1, max.depth = 5); keep(paste0("ranger_", mode), m, predict(m, q)$predictions, q, levels = if (mode == "order") list() else list(k = levels(d$k)))
  m <- ranger(f("two"), d, num.trees = 7, respect.unordered.factors = mode, seed = 1, probability = TRUE, max.depth = 5); p <- predict(m, q)$predictions; keep(paste0("ranger_two_", mode), m, p[, m$forest$levels[m$forest$class.values[2]]], q, levels = if (mode == "order") list() else list(k = levels(d$k)))
}
m <- ranger(f("three"), d, num.trees = 7, respect.unordered.factors = "order", seed = 1, probability = TRUE, max.depth = 4); p <- predict(m, q)$predictions; keep("ranger_three", m, p[, m$forest$levels[m$forest$class.values]], q)
m <- ranger(f("three"), d, num.trees = 7, respect.unordered.factors = "order", seed = 1, max.depth = 4); p <- predict(m, q, predict.all = TRUE)$predictions
keep("ranger_votes", m, t(apply(p, 1, function(v) sapply(m$forest$class.values, function(c) sum(v == c) / length(v)))), q)
g <- function(t, dist, ...) gbm(f(t), distribution = dist, data = d, n.trees = 12, interaction.depth = 3, shrinkage = .2, ...)
for (dist in c("gaussian", "laplace")) { m <- g("y", dist); keep(paste0("gbm_", dist), m, predict(m, qm, n.trees = 12), qm) }
m <- g("bin", "bernoulli"); keep("gbm_bernoulli", m, predict(m, qm, n.trees = 12, type = "response"), qm)
m <- g("bin", "adaboost"); keep("gbm_adaboost", m, predict(m, qm, n.trees = 12, type = "response"), qm)
m <- g("count", "poisson"); keep("gbm_poisson", m, predict(m, qm, n.trees = 12, type = "response"), qm)
m <- suppressWarnings(g("three", "multinomial")); keep("gbm_multinomial", m, predict(m, qm, n.trees = 12, type = "response")[, , 1], qm)
out$rows <- list(a = I(qm$a), k = I(as.character(qm$k)), b = I(qm$b)); out$complete <- list(a = I(q$a), k = I(as.character(q$k)), b = I(q$b))
json_na <- function(x) if (is.list(x)) { parts <- vapply(x, json_na, ""); if (is.null(names(x))) paste0("[", paste(parts, collapse=","), "]") else paste0("{", paste0(quoted(names(x)), ":", parts, collapse=","), "}") } else { t <- if (is.character(x)) quoted(x) else if (is.logical(x)) ifelse(x, "true", "false") else sprintf("%.17g", x); t[is.na(x)] <- "null"; if (length(x) == 1 && !inherits(x, "AsIs")) t else paste0("[", paste(t, collapse=","), "]") }
writeLines(json_na(out), file.path(dir, "expected.json"), useBytes = TRUE)
setwd(dir); tar("saved.tar.xz", list.files(pattern = "json$"), "xz", tar = "internal"); unlink(list.files(pattern = "json$"))
