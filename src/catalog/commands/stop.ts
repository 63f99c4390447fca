import { createApi } from '../../command-line/api.ts';
import { type Call, exitCodes, type Run, usageError } from '../../command-line/command.ts';

const kinds: Readonly<Record<string, string>> = {
  offer: '/manage/v1/offers',
  campaign: '/manage/v1/campaigns',
  advertiser: '/manage/v1/advertisers',
};

async function run(call: Call, action: 'stop' | 'resume'): Promise<number> {
  const [kind = '', id = '', ...rest] = call.args;
  const path = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  if (path === undefined || !/^[1-9]\d{0,8}$/.test(id) || rest.length > 0)
    throw usageError(`Name what to ${action}: offer, campaign or advertiser, and its id.`);
  const answer = await createApi(call).call('POST', `${path}/${id}/${action}`);
  const { message, data } = answer as { message: string; data: object };
  call.out.data(data);
  call.out.line(message);
  return exitCodes.ok;
}

/** The kill switch. */
export const stop: Run = (call) => run(call, 'stop');
export const resume: Run = (call) => run(call, 'resume');
