{#- A prediction as an expression. `features` is a list of columns, or the alias of a relation that has the
    model's features by name; `function` is any function of pgboost that takes a model and features. -#}
{%- macro predict(model, features, function='predict') -%}
    {%- set features = features if features is string else features | join(', ') -%}
    {{ function }}({{ dbt.string_literal(model) }}, {{ features }})
{%- endmacro -%}
