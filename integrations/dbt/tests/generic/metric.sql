{#- Fails if a metric of `model_name` on this relation is outside of the bounds, or is not computed. -#}
{% test metric(model, model_name, target, metric, at_least=none, at_most=none) %}
    {%- if at_least is none and at_most is none -%}
        {{ exceptions.raise_compiler_error("metric: at_least or at_most is required") }}
    {%- endif -%}
    with evaluated as (
        select value
        from evaluate_model(
            {{ dbt.string_literal(model_name) }}, {{ dbt.string_literal('select * from ' ~ model) }},
            {{ dbt.string_literal(target) }}
        )
        where metric = {{ dbt.string_literal(metric) }}
    )
    select max(value) as value, count(*) as computed
    from evaluated
    having max(value) is null
    {%- if at_least is not none %} or max(value) < {{ at_least }}{% endif %}
    {%- if at_most is not none %} or max(value) > {{ at_most }}{% endif %}
{% endtest %}
