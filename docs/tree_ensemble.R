# Writes a model of ranger or gbm as a tree ensemble, the file of docs/formats.md that pgboost loads:
#
#     source("tree_ensemble.R")
#     write_tree_ensemble(model, "model.json")
#
# It needs no other package. Of ranger: regression, classification and probability forests; a forest has the levels
# of factors only with respect.unordered.factors = "order", so give them otherwise:
# levels = list(colour = levels(data$colour)). Of gbm: all distributions but coxph.

write_tree_ensemble <- function(model, path, levels = list(), n.trees = NULL) {
  file <- if (inherits(model, "ranger")) of_ranger(model, levels) else if (inherits(model, "gbm")) of_gbm(model, n.trees)
    else stop("a model of ranger or gbm is written, not one of class ", class(model)[1])
  writeLines(json(c(list(tree_ensemble = 1), file)), path, useBytes = TRUE)
}

json <- function(x) {
  if (is.null(x)) return("null")
  if (is.list(x)) {
    parts <- vapply(x, json, "")
    if (is.null(names(x))) return(paste0("[", paste(parts, collapse = ","), "]"))
    return(paste0("{", paste0(quoted(names(x)), ":", parts, collapse = ","), "}"))
  }
  text <- if (is.character(x)) quoted(x) else if (is.logical(x)) ifelse(x, "true", "false")
    else ifelse(is.infinite(x), ifelse(x > 0, '"Infinity"', '"-Infinity"'), sprintf("%.17g", x))
  if (length(x) == 1 && !inherits(x, "AsIs")) text else paste0("[", paste(text, collapse = ","), "]")
}

quoted <- function(x) {
  x <- gsub('(["\\\\])', "\\\\\\1", enc2utf8(x))
  paste0('"', gsub("[[:cntrl:]]", " ", x), '"')
}

of_ranger <- function(model, levels) {
  forest <- model$forest
  if (is.null(forest)) stop("the model has no forest: fit it with write.forest = TRUE")
  kind <- forest$treetype
  if (!kind %in% c("Regression", "Classification", "Probability estimation")) stop("a forest of the type ", kind, " is not scored")
  names <- forest$independent.variable.names
  unknown <- setdiff(names(levels), names)
  if (length(unknown)) stop("the forest has no variable ", unknown[1])
  levels_of <- lapply(seq_along(names), function(i)
    if (is.null(levels[[names[i]]])) forest$covariate.levels[[i]] else levels[[names[i]]])
  missing <- names[!forest$is.ordered & vapply(levels_of, is.null, NA)]
  if (length(missing)) stop("give the levels of the factor ", missing[1], ": levels = list(", missing[1], " = levels(data$", missing[1], "))")
  classes <- forest$class.values
  values <- function(t, leaf) {
    if (kind == "Regression") return(forest$split.values[[t]][leaf])
    shares <- if (kind == "Classification") as.numeric(classes == forest$split.values[[t]][leaf])
      else forest$terminal.class.counts[[t]][[leaf]]
    if (length(classes) == 2) shares[2] else shares
  }
  trees <- lapply(seq_len(forest$num.trees), function(t) {
    left <- forest$child.nodeIDs[[t]][[1]]; right <- forest$child.nodeIDs[[t]][[2]]
    is_leaf <- left == 0 & right == 0
    feature <- forest$split.varIDs[[t]]; at <- forest$split.values[[t]]
    sets <- list(); number <- rep(-1, length(left))
    for (node in which(!is_leaf)) {
      known <- levels_of[[feature[node] + 1]]
      if (is.null(known)) next
      codes <- seq_along(known)
      goes_left <- if (forest$is.ordered[feature[node] + 1]) codes <= at[node] else floor(at[node]) %/% 2^(codes - 1) %% 2 == 0
      number[node] <- length(sets)
      sets[[length(sets) + 1]] <- I(codes[goes_left] - 1)
    }
    tree <- list(left = I(ifelse(is_leaf, -1, left)), right = I(ifelse(is_leaf, -1, right)), feature = I(ifelse(is_leaf, 0, feature)),
      threshold = I(ifelse(is_leaf | number >= 0, 0, at)), leaf_values = I(unlist(lapply(which(is_leaf), function(leaf) values(t, leaf)))))
    if (!is.null(forest$num.samples.nodes)) tree$cover <- I(forest$num.samples.nodes[[t]])
    if (length(sets)) tree <- c(tree, list(category_set = I(number), category_sets = sets))
    tree
  })
  file <- list(objective = paste("ranger", tolower(kind)), library_version = format(packageVersion("ranger")),
    feature_names = I(names), divisor = forest$num.trees)
  if (!all(vapply(levels_of, is.null, NA))) file$categories <- lapply(levels_of, function(known) if (is.null(known)) NULL else I(known))
  if (kind != "Regression") {
    labels <- if (is.null(forest$levels)) as.character(classes) else forest$levels[classes]
    file <- c(file, list(task = if (length(classes) == 2) "binary" else "multiclass", class_labels = I(labels),
      outputs = if (length(classes) == 2) 1 else length(classes)))
    if (length(classes) == 2) file$class_threshold <- 0.5
  }
  c(file, list(trees = trees))
}

of_gbm <- function(model, n.trees) {
  kind <- model$distribution$name
  links <- c(gaussian = "identity", laplace = "identity", tdist = "identity", quantile = "identity", pairwise = "identity",
    poisson = "exponential", bernoulli = "logistic", huberized = "identity", adaboost = "logistic", multinomial = "softmax")
  if (!kind %in% names(links)) stop("the distribution ", kind, " of gbm is not scored")
  outputs <- if (kind == "multinomial") model$num.classes else 1
  rounds <- if (is.null(n.trees)) model$n.trees else n.trees
  trees <- lapply(seq_len(rounds * outputs), function(t) c(gbm_tree(model, model$trees[[t]]), list(output = (t - 1) %% outputs)))
  # Of a split, gbm sends missing values to a third child: a node before it sends only them left.
  levels_of <- Map(function(type, known) if (type > 0) I(as.character(known)) else NULL, model$var.type, model$var.levels)
  file <- list(objective = paste("gbm", kind), library_version = format(packageVersion("gbm")), comparison = "<",
    feature_names = I(model$var.names), base = I(rep(model$initF, length.out = outputs)), outputs = outputs, link = links[[kind]],
    round_starts = I(seq(0, rounds * outputs, by = outputs)))
  if (any(model$var.type > 0)) file$categories <- unname(levels_of)
  if (kind == "adaboost") file$slope <- 2
  file$task <- if (kind == "multinomial") "multiclass" else if (kind %in% c("bernoulli", "adaboost")) "binary"
    else if (kind == "pairwise") "ranking" else "regression"
  if (kind == "multinomial") file$class_labels <- I(as.character(model$classes))
  c(file, list(trees = trees))
}

gbm_tree <- function(model, tree) {
  nodes <- list(); sets <- list(); leaves <- numeric()
  add <- function(row) { nodes[[length(nodes) + 1]] <<- row; length(nodes) - 1 }
  set <- function(codes) { sets[[length(sets) + 1]] <<- I(codes); length(sets) - 1 }
  grow <- function(k) {
    feature <- tree[[1]][k + 1]; at <- tree[[2]][k + 1]; cover <- tree[[7]][k + 1]
    if (feature < 0) {
      leaves[length(leaves) + 1] <<- at
      return(add(c(-1, -1, 0, 0, 0, cover, 0, -1)))
    }
    is_category <- model$var.type[feature + 1] > 0
    sides <- if (is_category) model$c.splits[[at + 1]] else NULL
    missing_cover <- tree[[7]][tree[[5]][k + 1] + 1]
    first <- add(c(0, 0, feature, -Inf, 1, cover, 0, if (is_category) set(which(sides == 0) - 1) else -1))
    nodes[[first + 1]][1] <<- grow(tree[[5]][k + 1])
    inner <- add(c(0, 0, feature, if (is_category) 0 else at, 0, cover - missing_cover, tree[[6]][k + 1],
      if (is_category) set(which(sides < 0) - 1) else -1))
    nodes[[first + 1]][2] <<- inner
    nodes[[inner + 1]][1] <<- grow(tree[[3]][k + 1])
    nodes[[inner + 1]][2] <<- grow(tree[[4]][k + 1])
    first
  }
  grow(0)
  columns <- do.call(rbind, nodes)
  columns[columns[, 8] >= 0, 4] <- 0
  found <- list(left = I(columns[, 1]), right = I(columns[, 2]), feature = I(columns[, 3]), threshold = I(columns[, 4]),
    missing_left = I(columns[, 5] > 0), cover = I(columns[, 6]), gain = I(columns[, 7]), leaf_values = I(leaves))
  if (length(sets)) c(found, list(category_set = I(columns[, 8]), category_sets = sets)) else found
}
