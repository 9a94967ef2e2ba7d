"""instructor: a response model. python talk_instructor.py BASE_URL MODEL"""

import sys

import anthropic
import instructor
from order import ORDER, Order, tell

url, model = sys.argv[1:]
client = anthropic.Anthropic(base_url=url, api_key="any", max_retries=0)
request = {"model": model, "max_tokens": 1000, "messages": [{"role": "user", "content": ORDER}], "max_retries": 0}
tell(order=instructor.from_anthropic(client).messages.create(response_model=Order, **request))
