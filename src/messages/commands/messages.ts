import { createApi, printResponse } from '../../command-line/api.ts';
import { type Call, exitCodes, type Run, textOption, usageError } from '../../command-line/command.ts';
import { counted } from '../../command-line/counted.ts';

const path = '/manage/v1/perk-messages';

type Message = {
  id: string;
  kind: string;
  state: string;
  attempts: number;
  error: string | null;
  refusal: string | null;
  created_at: string;
};
type State = { suppressed: boolean; reason: string | null };

function refuseArguments({ args }: Call): void {
  if (args.length > 0) throw usageError('This command takes no arguments.');
}

export const list: Run = async (call) => {
  refuseArguments(call);
  for (const message of await messagesOf(call)) {
    call.out.data(message);
    const { id, kind, state, attempts, error, refusal, created_at: at } = message;
    const reason = [error, refusal === null ? null : `(${refusal})`].filter((part) => part !== null).join(' ');
    call.out.line(`${at}  ${id}  ${kind}  ${state}  ${attempts}${reason === '' ? '' : `  ${reason}`}`);
  }
  return exitCodes.ok;
};

/** Returns messages, newest first: either the newest ones, or all that are failed or pending. */
async function messagesOf(call: Call): Promise<Message[]> {
  const api = createApi(call);
  if (call.options.failed !== true) return ((await api.call('GET', path)) as { data: Message[] }).data;
  const lists = await Promise.all(['failed', 'pending'].map((state) => api.all<Message>(path, { state })));
  return lists.flat().sort((a, b) => (a.id < b.id ? 1 : -1));
}

export const set: Run = async (call) => {
  refuseArguments(call);
  const api = createApi(call);
  const hours = textOption(call, 'reminder-hours');
  if (!/^(no|\d*)$/.test(hours)) throw usageError('--reminder-hours must be a whole number or no.');
  const delivery = textOption(call, 'delivery');
  const body = {
    ...choice(call, 'enabled', 'enabled'),
    ...choice(call, 'double-opt-in', 'double_opt_in'),
    ...(delivery === '' ? {} : { delivery }),
    ...(hours === '' ? {} : { reminder_hours: hours === 'no' ? null : Number(hours) }),
  };
  const isChange = Object.keys(body).length > 0;
  const answer = isChange ? api.call('PATCH', `${path}/settings`, { body }) : api.call('GET', `${path}/settings`);
  const { data } = (await answer) as { data: Record<string, unknown> };
  call.out.data(data);
  for (const [name, value] of Object.entries(data)) call.out.line(`${name.padEnd(16)}${value ?? ''}`);
  return exitCodes.ok;
};

function choice(call: Call, option: string, name: string): Record<string, boolean> {
  const value = textOption(call, option);
  if (value === '') return {};
  if (value !== 'yes' && value !== 'no') throw usageError(`--${option} must be yes or no.`);
  return { [name]: value === 'yes' };
}

export const retry: Run = async (call) => {
  if (call.options.failed === true) return retryFailed(call);
  const [id = '', ...rest] = call.args;
  if (id === '' || rest.length > 0) throw usageError('Expected one message ID.');
  return printResponse(call, await createApi(call).call('POST', `${path}/${encodeURIComponent(id)}/retry`));
};

async function retryFailed(call: Call): Promise<number> {
  refuseArguments(call);
  const { data } = (await createApi(call).call('POST', `${path}/retry`)) as { data: { count: number } };
  call.out.data(data);
  call.out.line(`Resent ${counted(data.count, 'message')}.`);
  return exitCodes.ok;
}

export const suppress: Run = async (call) => {
  const { args: emails, options } = call;
  if (emails.length === 0) throw usageError('Expected e-mail addresses.');
  const api = createApi(call);
  if (options.check !== true && options.lift !== true) {
    const { data } = (await api.call('POST', `${path}/suppressions`, { body: { emails } })) as {
      data: { added: number };
    };
    call.out.data(data);
    call.out.line(`Suppressed ${counted(data.added, 'more address', 'more addresses')}.`);
    return exitCodes.ok;
  }
  const action = options.lift === true ? 'remove' : 'check';
  for (const email of emails) {
    const { data } = (await api.call('POST', `${path}/suppressions/${action}`, { body: { email } })) as { data: State };
    call.out.data({ email, ...data });
    call.out.line(`${email}  ${data.suppressed ? `suppressed (${data.reason})` : 'not suppressed'}`);
  }
  return exitCodes.ok;
};
