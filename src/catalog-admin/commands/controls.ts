import { ruleKey, rulesOf } from '../../catalog/controls.ts';
import type { StoredControls } from '../../catalog/types.ts';
import { createApi, printResponse, readJsonFile } from '../../command-line/api.ts';
import { type Call, exitCodes, type Run, textOption, usageError } from '../../command-line/command.ts';
import { counted } from '../../command-line/counted.ts';
import { jsonText } from '../../command-line/output.ts';

type ControlsResponse = { message: string; data: object; warnings: { path: string; message: string }[] };

/**
 * Returns the API path for a publisher's block rules.
 * @throws CommandError if the publisher ID is missing or malformed
 */
function pathOf(publisher: string): string {
  if (!/^[1-9]\d{0,8}$/.test(publisher)) throw usageError('Expected a numeric publisher ID.');
  return `/manage/v1/publishers/${publisher}/controls`;
}

/** Prints the block rules as JSON, in the format that `controls set` reads. */
export const showControls: Run = async (call) => {
  const [publisher = '', ...rest] = call.args;
  if (rest.length > 0) throw usageError('Expected one publisher ID.');
  const { data } = (await createApi(call).call('GET', pathOf(publisher))) as ControlsResponse;
  const { publisher_id: _id, offers: _offers, ...rules } = data as Record<string, unknown>;
  call.out.data(rules);
  call.out.line(jsonText(rules, 1));
  return exitCodes.ok;
};

type BlockReason = { by: string; value: string; placement: string | null };

const reasonText = ({ by, value, placement }: BlockReason): string =>
  `${by} ${value}${placement === null ? '' : ` at ${placement}`}`;

/** Prints one line for each block rule, with its note and end time. */
export const listControls: Run = async (call) => {
  const [publisher = '', ...rest] = call.args;
  if (rest.length > 0) throw usageError('Expected one publisher ID.');
  const { data } = (await createApi(call).call('GET', pathOf(publisher))) as { data: StoredControls };
  const details = new Map(data.rule_details.map((detail) => [ruleKey(detail), detail]));
  const rules = rulesOf(data).map((rule) => {
    const { note = '', ends_at: endsAt = null } = details.get(ruleKey(rule)) ?? {};
    return { ...rule, note, ends_at: endsAt, ended: endsAt !== null && Date.parse(endsAt) <= Date.now() };
  });
  call.out.data(rules);
  for (const rule of rules) {
    const end = rule.ends_at === null ? '' : `  ${rule.ended ? 'ended' : 'ends'} ${rule.ends_at}`;
    call.out.line(`${reasonText(rule)}${end}${rule.note === '' ? '' : `  (${rule.note})`}`);
  }
  if (rules.length === 0) call.out.note('There are no block rules.');
  return exitCodes.ok;
};

export const setControls: Run = async (call) => {
  const [publisher = '', file = '', ...rest] = call.args;
  if (file === '' || rest.length > 0) throw usageError('Expected a publisher ID and one file.');
  const path = pathOf(publisher);
  const body = await readJsonFile(call, file);
  const query = call.options['dry-run'] === true ? { dry_run: 'true' } : {};
  const answer = await createApi(call).call('PUT', path, { body, query });
  printResponse(call, answer);
  for (const warning of (answer as ControlsResponse).warnings) call.out.note(`${warning.path} ${warning.message}`);
  return exitCodes.ok;
};

type Cost = {
  days: number;
  sessions: number;
  sampled: number;
  rest: number;
  rules: {
    by: string;
    value: string;
    placement: string | null;
    changed: number;
    revenue: { currency: string; amount: number }[];
    is_enough: boolean;
  }[];
};

/** Prints the effect and cost of each block rule. */
export const costOfControls: Run = async (call) => {
  const [publisher = '', ...rest] = call.args;
  if (rest.length > 0) throw usageError('Expected one publisher ID.');
  const { data } = (await createApi(call).call('GET', `${pathOf(publisher)}/cost`)) as { data: Cost };
  call.out.data(data);
  for (const { by, value, placement, changed, revenue, is_enough: isEnough } of data.rules) {
    const at = placement === null ? '' : `  at ${placement}`;
    const money = revenue.map(({ amount, currency }) => `  ${amount.toFixed(2)} ${currency}`).join('');
    const lack = isEnough ? '' : '  not enough data';
    call.out.line(`${(100 * changed).toFixed(1)}% changed${money}${lack}  ${by} ${value}${at}`);
  }
  const { sampled, sessions, days, rest: others } = data;
  call.out.note(`${sampled} of ${sessions} sessions of the last ${days} days were evaluated again without each rule.`);
  if (others > 0) call.out.note(`${counted(others, 'more rule was', 'more rules were')} not evaluated.`);
  return exitCodes.ok;
};

/** Prints the offers that the block rules exclude. */
export const listBlocked: Run = async (call) => {
  const [publisher = '', ...rest] = call.args;
  if (rest.length > 0) throw usageError('Expected one publisher ID.');
  const { data } = (await createApi(call).call('GET', `${pathOf(publisher)}/blocked`)) as {
    data: { offer_id: number; title: string; advertiser_name: string; blocks: BlockReason[] }[];
  };
  call.out.data(data);
  for (const { offer_id: id, title, advertiser_name: advertiser, blocks } of data)
    call.out.line(`${id}  ${title}  (${advertiser})  ${blocks.map(reasonText).join('; ')}`);
  if (data.length === 0) call.out.note('No offer is blocked.');
  return exitCodes.ok;
};

/** Prints the block rules that would exclude an offer. */
export const testControls: Run = async (call) => {
  const [publisher = '', ...rest] = call.args;
  if (rest.length > 0) throw usageError('Expected one publisher ID.');
  const body = {
    landing_url: textOption(call, 'url'),
    advertiser_name: textOption(call, 'advertiser'),
    category: textOption(call, 'category'),
    text: textOption(call, 'text'),
  };
  const { data } = (await createApi(call).call('POST', `${pathOf(publisher)}/test`, { body })) as {
    data: { blocked: boolean; blocks: BlockReason[] };
  };
  call.out.data(data);
  for (const block of data.blocks) call.out.line(`Blocked: ${reasonText(block)}`);
  if (!data.blocked) call.out.line('Not blocked.');
  return data.blocked ? exitCodes.problem : exitCodes.ok;
};

const kinds: Readonly<Record<string, string>> = {
  offer: '/manage/v1/offers',
  campaign: '/manage/v1/campaigns',
  advertiser: '/manage/v1/advertisers',
};

async function run(call: Call, action: 'stop' | 'resume'): Promise<number> {
  const [kind = '', id = '', ...rest] = call.args;
  const path = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  if (path === undefined || !/^[1-9]\d{0,8}$/.test(id) || rest.length > 0)
    throw usageError(`Expected offer, campaign or advertiser, and the ID of the one to ${action}.`);
  return printResponse(call, await createApi(call).call('POST', `${path}/${id}/${action}`));
}

/** Activates the kill switch for an offer, campaign or advertiser. */
export const stop: Run = (call) => run(call, 'stop');
export const resume: Run = (call) => run(call, 'resume');
