import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { newSecret, secretBytes, sign } from '../../src/webhooks/signature.ts';

const guide = readFileSync(new URL('../../docs/guides/receiving-webhooks.md', import.meta.url), 'utf8');
const codeOf = (language: string): string =>
  new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(guide)?.[1] ?? '';

const [secret, other] = [newSecret(), newSecret()];
const body = Buffer.from('{"body": {"text":"ü \\u0000"}}\n');
const nowS = Math.floor(Date.now() / 1000);

function headersFor(secrets: readonly string[], timestampS = nowS): Record<string, string> {
  const id = 'msg_0197a0000000700080000000000000ab';
  const signature = sign({ id, timestampS, body, secrets: secrets.map(secretBytes) });
  return { 'webhook-id': id, 'webhook-timestamp': String(timestampS), 'webhook-signature': signature };
}

const without = (headers: Record<string, string>, name: string): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([header]) => header !== name));

/** Headers, body bytes, and whether the webhook is authentic. */
const cases: [string, Record<string, string>, Buffer, boolean][] = [
  ['a valid webhook', headersFor([secret]), body, true],
  ['a valid webhook during a secret rotation', headersFor([other, secret]), body, true],
  ['a signature with another secret', headersFor([other]), body, false],
  ['an altered body', headersFor([secret]), Buffer.concat([body, Buffer.from(' ')]), false],
  ['another id', { ...headersFor([secret]), 'webhook-id': 'msg_1' }, body, false],
  ['a webhook that is ten minutes old', headersFor([secret], nowS - 600), body, false],
  ['no signature', { ...headersFor([secret]), 'webhook-signature': '' }, body, false],
  ['a truncated signature', { ...headersFor([secret]), 'webhook-signature': 'v1,AAAA' }, body, false],
  [
    'another signature version',
    {
      ...headersFor([secret]),
      'webhook-signature': headersFor([secret])['webhook-signature']?.replace('v1', 'v2') ?? '',
    },
    body,
    false,
  ],
  ['no id', without(headersFor([secret]), 'webhook-id'), body, false],
  ['a signature with non-ASCII characters', { ...headersFor([secret]), 'webhook-signature': 'v1,ü²' }, body, false],
  ['a timestamp of superscript digits', { ...headersFor([secret]), 'webhook-timestamp': '²' }, body, false],
  ['a timestamp that is not a number', { ...headersFor([secret]), 'webhook-timestamp': 'x' }, body, false],
];

describe('the code of the guide accepts valid webhooks and no others', () => {
  test.each(cases)('Node: %s', async (_name, headers, bytes, believed) => {
    const { verify } = await import(`data:text/javascript,${encodeURIComponent(codeOf('js'))}`);
    expect(verify(secret, headers, bytes)).toBe(believed);
  });

  const hasPython = spawnSync('python3', ['-c', 'assert __import__("sys").version_info >= (3, 9)']).status === 0;
  test.runIf(hasPython)('Python: all cases', () => {
    const script = `${codeOf('python')}
import json, sys
for one in json.load(sys.stdin):
    print(verify(one["secret"], one["headers"], base64.b64decode(one["body"])))`;
    const input = JSON.stringify(
      cases.map(([, headers, bytes]) => ({ secret, headers, body: bytes.toString('base64') })),
    );
    const { stdout, stderr } = spawnSync('python3', ['-c', script], { input, encoding: 'utf8' });
    expect(stderr).toBe('');
    expect(stdout.trim().split('\n')).toEqual(cases.map(([, , , believed]) => (believed ? 'True' : 'False')));
  });

  test('the guide also contains code for PHP and Go', () => {
    for (const language of ['php', 'go']) expect(codeOf(language)).toContain('whsec_');
  });
});
