/** The fields of a V8 profile that are used here. */
type Profile = {
  nodes: { id: number; callFrame: { functionName: string; url: string }; children?: number[] }[];
  samples: number[];
  timeDeltas: number[];
};

/** Function groups by file path suffix. The first match counts. */
const groups: readonly [RegExp, string][] = [
  [/dist\/decision\//, 'decision'],
  [/dist\/offers\/render\//, 'rendering'],
  [/dist\/platform\/security\//, 'tokens, hashes'],
  [/dist\/offers\/fetch\/request|dist\/platform\/http|fast-uri|ajv/, 'validation, key'],
  [/dist\/offers\//, 'fetch: context, records, batches'],
  [/node_modules\/pg|pg-protocol|pg-pool|dist\/platform\/db/, 'PostgreSQL driver'],
  [
    /node_modules\/(fastify|find-my-way|avvio|@fastify|light-my-request|secure-json|fast-querystring|@sinclair)/,
    'Fastify',
  ],
  [/node:_?http|node:internal\/http/, 'node:http'],
  [/node:(net|internal\/stream|stream|events|buffer|internal)/, 'sockets, streams, node'],
];

function groupOf(name: string, url: string): string {
  if (name === '(idle)') return 'idle';
  if (name === '(garbage collector)') return 'garbage collection';
  if (name === '(program)') return 'system calls, native code';
  if (url === '') return 'built-ins';
  return groups.find(([pattern]) => pattern.test(url))?.[1] ?? 'other';
}

/** Returns the CPU time per request in microseconds, by group and for the most expensive functions. */
export function profileTable(title: string, json: string, requests: number): string {
  const { nodes, samples, timeDeltas } = JSON.parse(json) as Profile;
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const byGroup = new Map<string, number>();
  const byFunction = new Map<string, number>();
  samples.forEach((id, index) => {
    const { functionName, url } = frames.get(id) ?? { functionName: '', url: '' };
    const us = timeDeltas[index] ?? 0;
    const group = groupOf(functionName, url);
    if (group === 'idle') return;
    byGroup.set(group, (byGroup.get(group) ?? 0) + us);
    const name = `${functionName || '(anonymous)'} ${url.split('/').slice(-2).join('/')}`;
    byFunction.set(name, (byFunction.get(name) ?? 0) + us);
  });
  const sorted = (sums: Map<string, number>): [string, number][] => [...sums].sort(([, a], [, b]) => b - a);
  const line = ([name, us]: [string, number]): string => `| ${name} | ${(us / requests).toFixed(1)} |`;
  const total = [...byGroup.values()].reduce((a, b) => a + b, 0);
  return [
    `\n## ${title}: server CPU time per request (including startup)\n`,
    '| What | µs |',
    '| --- | --- |',
    ...sorted(byGroup).map(line),
    line(['**all**', total]),
    '',
    '| Costliest functions | µs |',
    '| --- | --- |',
    ...sorted(byFunction).slice(0, 30).map(line),
    '',
  ].join('\n');
}
