// The scenario of load.ts for k6: k6 run --vus 50 --duration 60s examples/load/load.k6.js
import { check, sleep } from 'k6';
import http from 'k6/http';

const host = __ENV.HOST || 'http://localhost:3000';
const flowers = JSON.parse(open('./sample.json'));

export default function classify() {
  const flower = flowers[Math.floor(Math.random() * flowers.length)];
  const response = http.post(`${host}/classify`, JSON.stringify(flower), {
    headers: { 'content-type': 'application/json' },
  });
  check(response, {
    'status is 200': ({ status }) => status === 200,
    'has a label': (answer) => answer.status !== 200 || answer.json('label') !== undefined,
  });
  sleep(0.01 + Math.random() * 1.99);
}
