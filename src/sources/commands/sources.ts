import { createApi, printResponse, readJsonFile } from '../../command-line/api.ts';
import { exitCodes, type Run, usageError } from '../../command-line/command.ts';
import { jsonText } from '../../command-line/output.ts';

const path = '/manage/v1/sources/segment';

export const show: Run = async (call) => {
  if (call.args.length > 0) throw usageError('This command takes no arguments.');
  const { data } = (await createApi(call).call('GET', path)) as { data: Record<string, unknown> };
  const { has_secret: _secret, ...settings } = data;
  call.out.data(settings);
  call.out.line(jsonText(settings, 1));
  return exitCodes.ok;
};

export const set: Run = async (call) => {
  const [file = '', ...rest] = call.args;
  if (file === '' || rest.length > 0) throw usageError('Expected one file.');
  const body = await readJsonFile(call, file);
  return printResponse(call, await createApi(call).call('PUT', path, { body }));
};

type Event = {
  received_at: string;
  type: string;
  name: string;
  result: string;
  refusal: string | null;
  effects: { kind: string; name: string; result: string }[];
  notes: { path: string; reason: string }[];
};

export const events: Run = async (call) => {
  if (call.args.length > 0) throw usageError('This command takes no arguments.');
  const { data } = (await createApi(call).call('GET', `${path}/events`)) as { data: Event[] };
  for (const event of data) {
    call.out.data(event);
    const { received_at: at, type, name, result, refusal, effects, notes } = event;
    const what = [
      ...effects.map((effect) => `${effect.kind} ${effect.name}: ${effect.result}`),
      ...notes.map((note) => `${note.path}: ${note.reason}`),
    ].join(', ');
    call.out.line(`${at}  ${[type, name].filter(Boolean).join(' ')}  ${result}  ${refusal ?? what}`.trimEnd());
  }
  return exitCodes.ok;
};
