{#- Fails if a feature of this relation has drifted from the baseline of `model_name`. -#}
{% test no_drift(model, model_name, severities=['major']) %}
    {%- set accepted = ['minor', 'major'] -%}
    {%- for severity in severities if severity not in accepted -%}
        {{ exceptions.raise_compiler_error("no_drift: severity " ~ severity ~ " is not one of " ~ accepted) }}
    {%- endfor -%}
    select feature, severity, psi, missing, baseline_missing
    from feature_drift({{ dbt.string_literal(model_name) }}, {{ dbt.string_literal('select * from ' ~ model) }})
    where severity in ('{{ severities | join("', '") }}')
{% endtest %}
