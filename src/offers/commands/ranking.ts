import { createApi } from '../../command-line/api.ts';
import { exitCodes, idOption, type Run, usageError } from '../../command-line/command.ts';

type Check = {
  sessions: number;
  effective_sessions: number;
  is_enough: boolean;
  actual: number | null;
  estimated: number | null;
  lift: { estimate: number; low: number; high: number } | null;
};

/** Prints what another ranking would have earned in the last 7 days. Exits with 1 if there is too little data. */
export const checkRanking: Run = async (call) => {
  const { args, out } = call;
  const [ranking, ...rest] = args;
  if (ranking === undefined || rest.length > 0) throw usageError('Expected one ranking.');
  const campaign = idOption(call, 'campaign');
  const query = new URLSearchParams({ ranking, ...(campaign !== null && { campaign_id: String(campaign) }) });
  const { data, message } = (await createApi(call).call('GET', `/manage/v1/ranking-check?${query}`)) as {
    message: string;
    data: Check;
  };
  out.data(data);
  const { lift, actual, estimated } = data;
  if (lift === null) {
    out.line(`${message} Only ${data.effective_sessions} of ${data.sessions} sessions are informative for ${ranking}.`);
    return exitCodes.problem;
  }
  const percent = (share: number): string => `${share > 0 ? '+' : ''}${(100 * share).toFixed(1)} %`;
  out.line(`${percent(lift.estimate)} (95 %: ${percent(lift.low)} to ${percent(lift.high)})`);
  out.line(`${estimated} instead of ${actual} per 1,000 sessions, from ${data.effective_sessions} effective sessions.`);
  return exitCodes.ok;
};
