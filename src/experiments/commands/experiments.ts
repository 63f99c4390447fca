import { createApi, printResponse, readJsonFile } from '../../command-line/api.ts';
import { type Call, exitCodes, type Run, textOption, usageError } from '../../command-line/command.ts';
import { counted } from '../../command-line/counted.ts';
import type { ExperimentView } from '../configuration/view.ts';
import type { ExperimentPlan } from '../report/plan.ts';
import type { ExperimentReport } from '../report/report.ts';
import type { Estimate } from '../statistics/compare.ts';

const path = '/manage/v1/experiments';

function pathOf({ args: [key = '', ...rest] }: Call, action = ''): string {
  if (key === '' || rest.length > 0) throw usageError('Expected one experiment key.');
  return `${path}/${encodeURIComponent(key)}${action}`;
}

export const list: Run = async (call) => {
  for (const experiment of await createApi(call).all<ExperimentView>(path)) {
    call.out.data(experiment);
    call.out.line(`${experiment.key}  ${experiment.state}  ${experiment.name}`);
  }
  return exitCodes.ok;
};

export const show: Run = async (call) => {
  const { data } = (await createApi(call).call('GET', pathOf(call))) as { data: ExperimentView };
  call.out.data(data);
  call.out.line(`${data.key}: ${data.state}, version ${data.version}`);
  if (data.holdout > 0) call.out.line(`  holdout  ${percent(data.holdout)}`);
  for (const { key, share, changes } of data.arms)
    call.out.line(`  ${key}  ${percent(share)}  ${JSON.stringify(changes)}`);
  return exitCodes.ok;
};

export const create: Run = async (call) => {
  const [file = '', ...rest] = call.args;
  if (file === '' || rest.length > 0) throw usageError('Expected one file.');
  const body = await readJsonFile(call, file);
  return printResponse(call, await createApi(call).call('POST', path, { body }));
};

export const change: Run = async (call) => {
  const [key = '', file = '', ...rest] = call.args;
  if (file === '' || rest.length > 0) throw usageError('Expected an experiment key and one file.');
  const body = await readJsonFile(call, file);
  return printResponse(call, await createApi(call).call('PATCH', pathOf({ ...call, args: [key] }), { body }));
};

const act =
  (action: 'start' | 'stop' | 'undo'): Run =>
  async (call) =>
    printResponse(call, await createApi(call).call('POST', pathOf(call, `/${action}`)));

export const start = act('start');
export const stop = act('stop');
export const undo = act('undo');

export const adopt: Run = async (call) => {
  const [key = '', arm = '', ...rest] = call.args;
  if (arm === '' || rest.length > 0) throw usageError('Expected an experiment key and one of its arms.');
  const answer = await createApi(call).call('POST', pathOf({ ...call, args: [key] }, '/adopt'), { body: { arm } });
  const { data } = answer as { data: ExperimentView };
  printResponse(call, answer);
  for (const { resource, key: row, fields } of data.adopted?.written ?? [])
    for (const [name, { old, new: now }] of Object.entries(fields))
      call.out.line(`  ${resource} ${row}: ${name}  ${JSON.stringify(old)} -> ${JSON.stringify(now)}`);
  return exitCodes.ok;
};

export const report: Run = async (call) => {
  const options = ['version', 'population', 'segment'].map((name) => [name, textOption(call, name) || undefined]);
  const query = Object.fromEntries(options);
  const answer = await createApi(call).call('GET', pathOf(call, '/report'), { query });
  const { data } = answer as { data: ExperimentReport };
  call.out.data(data);
  call.out.line(
    `${data.key}: ${data.state}, version ${data.version}; ${data.is_enough ? 'enough' : 'not enough'} data`,
  );
  if (data.currency !== null) call.out.line(`Revenue is in ${data.currency}.`);
  if (!data.is_enough && data.days_left !== null)
    call.out.line(`About ${counted(data.days_left, 'more day')} at the current pace.`);
  if (data.users_needed !== null && !data.is_enough)
    call.out.line(`${data.users_counted} of about ${counted(data.users_needed, 'user')}.`);
  for (const warning of warningsOf(data)) call.out.line(warning);
  for (const arm of data.arms) {
    call.out.line(`  ${arm.arm}: ${counted(arm.users, 'user')}, ${counted(arm.sessions, 'session')}`);
    for (const { currency, revenue, not_converted: part } of arm.revenue_by_currency)
      call.out.line(
        `    booked  ${revenue.toFixed(2)} ${currency}${part === 0 ? '' : `, ${part.toFixed(2)} not converted`}`,
      );
    for (const [name, { value, lift }] of Object.entries({ ...arm.metrics, ...arm.outcomes }))
      call.out.line(`    ${name}  ${value.toFixed(2)}${liftText(lift)}`);
  }
  if (data.segments !== null) printSegments(call, data.segments);
  return exitCodes.ok;
};

const liftText = (lift: Estimate | null): string =>
  lift === null ? '' : `  ${percent(lift.estimate)} (${percent(lift.low)} to ${percent(lift.high)})`;

function printSegments({ out }: Call, { by, comparisons, values }: NonNullable<ExperimentReport['segments']>): void {
  out.line('Revenue per 1,000 sessions. With many segments, some differences occur by chance:');
  out.line(`all ${comparisons} intervals hold at the same time with a probability of 95%.`);
  for (const { value, arms } of values)
    for (const { arm, users, value: revenue, lift } of arms)
      out.line(
        `  ${by} ${value || 'unknown'}, ${arm}: ${counted(users, 'user')}  ${revenue.toFixed(2)}${liftText(lift)}`,
      );
}

const warningsOf = ({
  sample_ratio: shares,
  seen_ratio: seenRatio,
  before_exposure: before,
}: ExperimentReport): string[] => [
  ...(shares.is_wrong ? ['The numbers of users do not match the shares. Do not trust the results.'] : []),
  ...(before.is_wrong
    ? [`Users of ${before.arms.join(', ')} differed before the experiment. Do not trust the results.`]
    : []),
  ...(seenRatio?.is_wrong ? ['An arm changes who sees offers. Use the population "all".'] : []),
];

export const plan: Run = async (call) => {
  const { data } = (await createApi(call).call('GET', pathOf(call, '/plan'))) as { data: ExperimentPlan };
  const { lift, days, users_needed: needed, users_per_day: perDay } = data;
  call.out.data(data);
  call.out.line(
    days === null || needed === null
      ? 'There is no revenue yet to plan with.'
      : `Detecting ${percent(lift)} takes ${counted(needed, 'user')}: about ${counted(days, 'day')} at ` +
          `${counted(perDay, 'user')} per day.`,
  );
  return exitCodes.ok;
};

const percent = (share: number): string => `${(share * 100).toFixed(1)}%`;
