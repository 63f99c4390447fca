import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { asCurl } from '../../../src/webhooks/pages/deliveries/delivery-page.ts';

test('the curl command sends every byte unchanged, whatever the payload contains', () => {
  const url = 'https://shop.example/hook?a=1&b=$HOME';
  const payload = `{"title": "It's $(touch /tmp/x) \`id\` \\"so\\" \\\\ !!",\n "x": "'; rm -rf ~"}`;
  const request = { method: 'POST', url, headers: { 'webhook-id': 'msg_1', 'x-own': '[hidden]' } };
  const shell = (command: string) =>
    execFileSync('sh', ['-c', `curl() { printf '%s\\0' "$@"; }\n${command}`], { encoding: 'utf8' })
      .split('\0')
      .slice(0, -1);
  const headers = ['-H', 'webhook-id: msg_1', '-H', 'x-own: [hidden]'];
  expect(shell(asCurl(request, payload))).toEqual(['-X', 'POST', url, ...headers, '--data-raw', payload]);
  expect(shell(asCurl({ ...request, method: 'GET' }, payload))).toEqual([url, ...headers]);
  expect(shell(asCurl(request, null))).toEqual(['-X', 'POST', url, ...headers]);
});
