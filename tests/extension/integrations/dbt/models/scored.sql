select id, town, area, rooms, age, price,
       {{ pgboost.predict('price', 'h') }} as by_name,
       {{ pgboost.predict('price', ['area', 'rooms', 'age']) }} as by_position,
       {{ pgboost.predict('price', 'h', function='predict_margin') }} as margin
from homes as h
