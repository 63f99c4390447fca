import { createApi } from '../../command-line/api.ts';
import { exitCodes, type Run, textOption, usageError } from '../../command-line/command.ts';
import { counted } from '../../command-line/counted.ts';
import { isDay } from '../../platform/http/day-range.ts';

type FrequencyAnswer = {
  from: string;
  to: string;
  reach: number;
  exact: boolean;
  frequency: number | null;
  unknown_impressions: number;
  distribution: { impressions: number; users: number; margin: number }[];
};
type OverlapAnswer = {
  campaigns: { campaign_id: number; reach: number }[];
  pairs: { campaign_ids: [number, number]; users: number; margin: number }[];
};

const path = '/manage/v1/reports/reach';
const filterNames = ['campaign', 'placement', 'country', 'device'];

/** Prints the unique users of a range of days, by number of impressions, and the overlap of campaigns. */
export const showReach: Run = async (call) => {
  const { args, out } = call;
  const [from, to, ...rest] = args;
  if (rest.length > 0 || ![from, to].every((day) => day === undefined || isDay(day)))
    throw usageError('Days must have the form 2026-11-21.');
  const filters = filterNames.map((name) => [name, textOption(call, name) || undefined]);
  const query: Record<string, string | undefined> = { from, to, ...Object.fromEntries(filters) };
  const api = createApi(call);
  const { data: frequency } = (await api.call('GET', `${path}/frequency`, { query })) as { data: FrequencyAnswer };
  const { data: overlap } = (await api.call('GET', `${path}/overlap`, { query })) as { data: OverlapAnswer };
  const { campaigns, pairs } = overlap;
  out.data({ ...frequency, campaigns, pairs });
  const about = frequency.exact ? '' : 'about ';
  out.line(`${frequency.from} to ${frequency.to}: ${about}${counted(frequency.reach, 'unique user')}`);
  if (frequency.frequency !== null) out.line(`  ${frequency.frequency.toFixed(2)} impressions per user`);
  if (frequency.unknown_impressions > 0)
    out.line(`  ${counted(frequency.unknown_impressions, 'impression')} without a user ID, not included`);
  const last = frequency.distribution.at(-1)?.impressions;
  for (const { impressions, users, margin } of frequency.distribution.filter((part) => part.users > 0))
    out.line(`  ${impressions}${impressions === last ? '+' : ''} x  ${within(users, margin)}`);
  for (const { campaign_id, reach } of campaigns) out.line(`campaign ${campaign_id}: ${counted(reach, 'user')}`);
  for (const { campaign_ids, users, margin } of pairs.filter((pair) => pair.users > 0))
    out.line(`campaigns ${campaign_ids.join(' and ')}: ${within(users, margin)}`);
  return exitCodes.ok;
};

const within = (users: number, margin: number): string =>
  margin === 0 ? counted(users, 'user') : `${users} ± ${margin} users`;
