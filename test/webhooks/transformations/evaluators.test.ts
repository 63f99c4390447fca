import { afterAll, expect, test } from 'vitest';
import {
  createEvaluators,
  type EvaluatorReply,
  maxMemoryMb,
  maxOutputBytes,
} from '../../../src/webhooks/transformations/evaluators.ts';
import { timeLimit } from '../../support/time-limit.ts';

const evaluators = createEvaluators({ timeLimitMs: timeLimit(300) });
afterAll(() => evaluators.close());

const payload = { a: 1, list: [1, 2, 3], text: 'x' };

const run = (body: string, client: number | string = 1): Promise<EvaluatorReply> => {
  const values = { event: 'conversion', webhook_id: 'msg_1', dev: false };
  return evaluators.run({ transformation: { body }, input: JSON.stringify(payload), values }, client);
};

const bodyOf = async (body: string, client?: number): Promise<string | null> => {
  const reply = await run(body, client);
  return 'failed' in reply ? `failed: ${reply.failed.message}` : reply.body;
};

const failureOf = async (body: string) => {
  const reply = await run(body);
  return 'failed' in reply ? reply.failed : null;
};

test('a result is sent unchanged if it is text, and otherwise as JSON without functions', async () => {
  expect(await bodyOf('"id=" & $string(a) & "&event=" & $event')).toBe('id=1&event=conversion');
  expect(await bodyOf('{ "sum": $sum(list), "f": $uppercase, "g": function($x) { $x } }')).toBe('{"sum":6}');
  expect(await bodyOf('[a]')).toBe('[1]');
  expect(await bodyOf('missing')).toBe('failed: the expression returned no value');
});

test('an error names the part of the transformation and the position in it', async () => {
  expect(await failureOf('{ "a": ')).toMatchObject({ reason: 'expression', part: 'body', position: 7 });
  expect(await failureOf('$notAFunction()')).toMatchObject({ reason: 'expression', part: 'body', position: 14 });
});

/** Expressions that would never end, or use all of the memory. */
const endless: Readonly<Record<string, string>> = {
  'endless recursion': '($f := function($x) { $f($x + 1) }; $f(1))',
  'deep recursion': '($f := function($x) { 1 + $f($x + 1) }; $f(1))',
  'mutual recursion': '($f := function($x) { $g($x) & "" }; $g := function($x) { $f($x) & "" }; $f(1))',
  'a range of ten million': '[1..10000000]',
  'ten million objects': '[1..10000000].{ "x": $ }',
  'a nested range': '[1..3000].[1..3000]',
  'a growing list': '($f := function($a) { $f($append($a, $a)) }; $f([1..100000]))',
  'doubled text': '($f := function($s) { $f($s & $s) }; $f("xxxxxxxx"))',
  'padded text': '$pad("x", 500000000)',
  'split text': '$split($pad("", 50000000, "a "), " ")',
  'replaced text': '$replace($pad("", 30000000, "a"), "a", "bbbbbbbbbbbbbbbbbbbb")',
  'encoded text': '$base64encode($pad("", 200000000, "a"))',
  'a sorted list': '$sort([1..5000000])',
  'catastrophic backtracking': '$match($pad("", 40, "a") & "!", /^(a+)+$/)',
  'an expression that evaluates itself': '($s := "($f := function($x) { $f($x) }; $f(1))"; $eval($s))',
  'nested evaluation': '($f := function($n) { $eval("$f($n + 1)", {}) & $f($n + 1) }; $f(1))',
};

const long = { timeout: timeLimit(60_000) };

test.for(Object.entries(endless))(
  'an expression with %s is ended at its limits, and the next one runs',
  long,
  async ([, body]) => {
    const failure = await failureOf(body);
    expect(failure).not.toBeNull();
    expect(failure?.message).toMatch(
      new RegExp(`took longer than|more than ${maxMemoryMb} MiB|Stack overflow|Invalid string|limit|range`, 'i'),
    );
    expect(await bodyOf('a')).toBe('1');
  },
);

test('a result above the documented size is rejected', async () => {
  expect(await bodyOf(`$pad("", ${maxOutputBytes}, "x")`)).toHaveLength(maxOutputBytes);
  expect(await failureOf(`$pad("", ${maxOutputBytes + 1}, "x")`)).toMatchObject({
    message: `the result has ${maxOutputBytes + 1} bytes; the limit is ${maxOutputBytes}`,
  });
});

/** Attempts to reach built-in objects or change them for later expressions (such as CVE-2024-27307). */
const polluting = [
  '$ ~> | __proto__ | { "polluted": true } |',
  '$ ~> | $ | { "__proto__": { "polluted": true } } |',
  '$ ~> | constructor.prototype | { "polluted": true } |',
  '{} ~> | $lookup($, "constructor").prototype | { "polluted": true } |',
  '$merge([{ "__proto__": { "polluted": true } }])',
  '$lookup({}, "__proto__")',
  '$lookup($string, "constructor")("return process")()',
  '$string.implementation.constructor("return process")()',
  '$sum.implementation.constructor("return process.env")()',
  '"x".constructor.constructor("return process")()',
  '$each({ "a": 1 }, $lookup)',
  '($__evaluate_entry := false; $__evaluate_exit := false; a)',
  '$spread({ "__proto__": 1 })',
  '{ "__proto__": { "polluted": true } }',
];

test('an expression can neither read nor change built-in objects', async () => {
  for (const body of polluting) {
    const result = await bodyOf(body);
    expect(result, body).not.toMatch(/process|native|PATH/);
    expect(await bodyOf('{ "seen": $exists(polluted), "own": $exists($lookup({}, "polluted")) }'), body).toBe(
      '{"seen":false,"own":false}',
    );
  }
});

test('expressions of one publisher that hang do not delay another publisher', long, async () => {
  const hanging = Array.from({ length: 4 }, () => run('($f := function($x) { $f($x + 1) }; $f(1))', 'hanging'));
  let ended = 0;
  for (const run of hanging) void run.then(() => ended++);
  await run('a', 'warm');
  const results = await Promise.all(Array.from({ length: 20 }, () => bodyOf('a', 2)));
  expect(new Set(results)).toEqual(new Set(['1']));
  expect(ended).toBeLessThan(4);
  await Promise.all(hanging);
});
