import { createApi, printResponse } from '../../command-line/api.ts';
import { type Call, exitCodes, type Run, textOption, usageError } from '../../command-line/command.ts';

const path = '/manage/v1/alerts';
const channelsPath = '/manage/v1/alert-channels';

type AlertView = {
  id: number;
  kind: string;
  title: string;
  raised_at: string;
  ended_at: string | null;
  muted: { until: string; by: string; note: string } | null;
  messages: readonly { channel: string | null; state: string }[];
};

export const list: Run = async (call) => {
  if (call.args.length > 0) throw usageError('This command takes no arguments.');
  const kind = textOption(call, 'kind');
  const query = kind === '' ? {} : { kind };
  const { data } = (await createApi(call).call('GET', path, { query })) as { data: readonly AlertView[] };
  for (const alert of data) {
    call.out.data(alert);
    const { id, title, raised_at: raisedAt, ended_at: endedAt, muted, messages } = alert;
    const states = messages.map(({ channel, state }) => `${channel ?? 'e-mail'} ${state}`).join(', ');
    const remarks = [
      endedAt !== null && `ended ${endedAt}`,
      muted !== null && `muted until ${muted.until}`,
      states,
    ].filter(Boolean);
    call.out.line(`${id}  ${raisedAt}  ${title}${remarks.length > 0 ? `  (${remarks.join('; ')})` : ''}`);
  }
  if (data.length === 0) call.out.note('There are no alerts.');
  return exitCodes.ok;
};

function onlyId({ args: [id = '', ...rest] }: Call, noun: string): string {
  if (!/^\d+$/.test(id) || rest.length > 0) throw usageError(`Expected one ${noun} ID.`);
  return id;
}

/** Returns the ID of the alert, or `all`. */
const alertIdOf = (call: Call): string =>
  call.args.length === 1 && call.args[0] === 'all' ? 'all' : onlyId(call, 'alert');

export const mute: Run = async (call) => {
  const id = alertIdOf(call);
  const [hours, note] = [textOption(call, 'hours'), textOption(call, 'note')];
  const body = { ...(hours !== '' && { hours: Number(hours) }), ...(note !== '' && { note }) };
  return printResponse(call, await createApi(call).call('POST', `${path}/${id}/mute`, { body }));
};

export const unmute: Run = async (call) =>
  printResponse(call, await createApi(call).call('POST', `${path}/${alertIdOf(call)}/unmute`));

export const channels: Run = async (call) => {
  if (call.args.length > 0) throw usageError('This command takes no arguments.');
  const { data } = (await createApi(call).call('GET', channelsPath)) as {
    data: readonly { id: number; name: string; kinds: readonly string[]; error: string | null }[];
  };
  for (const channel of data) {
    call.out.data(channel);
    const { id, name, kinds, error } = channel;
    call.out.line(`${id}  ${name}  ${kinds.join(', ')}${error === null ? '' : `  (failed: ${error})`}`);
  }
  if (data.length === 0) call.out.note('There are no channels.');
  return exitCodes.ok;
};

export const test: Run = async (call) =>
  printResponse(call, await createApi(call).call('POST', `${channelsPath}/${onlyId(call, 'channel')}/test`));

const metricsPath = '/manage/v1/metric-alerts';

type MetricAlertView = {
  id: number;
  name: string;
  metric: string;
  placement: string | null;
  comparison: string;
  threshold: number;
  currency: string | null;
  window_hours: number;
  active: boolean;
  firing: boolean;
  fired_30_days: number;
};

export const metrics: Run = async (call) => {
  if (call.args.length > 0) throw usageError('This command takes no arguments.');
  const { data } = (await createApi(call).call('GET', metricsPath, { query: { limit: '100' } })) as {
    data: readonly MetricAlertView[];
  };
  for (const alert of data) {
    call.out.data(alert);
    const { id, name, metric, placement, comparison, threshold, currency, window_hours: hours } = alert;
    const state = alert.active ? (alert.firing ? 'firing' : 'ok') : 'inactive';
    const where = placement === null ? '' : ` at ${placement}`;
    const condition = `${metric}${where} ${comparison} ${threshold}${currency === null ? '' : ` ${currency}`}`;
    call.out.line(`${id}  ${state}  ${name}  (${condition}, ${hours} h; ${alert.fired_30_days} in 30 days)`);
  }
  if (data.length === 0) call.out.note('There are no metric alerts.');
  return exitCodes.ok;
};

export const add: Run = async (call) => {
  const [name = '', ...rest] = call.args;
  if (name === '' || rest.length > 0) throw usageError('Expected one name.');
  const comparisons = ['below', 'above', 'drop', 'rise'].filter((option) => textOption(call, option) !== '');
  const [comparison = ''] = comparisons;
  if (comparisons.length !== 1) throw usageError('Expected one of --below, --above, --drop or --rise.');
  const optional = (option: string) => (textOption(call, option) === '' ? {} : { [option]: textOption(call, option) });
  const hours = textOption(call, 'hours');
  const condition = {
    metric: textOption(call, 'metric'),
    comparison,
    threshold: Number(textOption(call, comparison)),
    ...optional('placement'),
    ...optional('currency'),
    ...(hours !== '' && { window_hours: Number(hours) }),
  };
  const isPreview = call.options.preview === true;
  const [path, body] = isPreview ? [`${metricsPath}/preview`, condition] : [metricsPath, { name, ...condition }];
  return printResponse(call, await createApi(call).call('POST', path, { body }));
};

export const remove: Run = async (call) => {
  await createApi(call).call('DELETE', `${metricsPath}/${onlyId(call, 'metric alert')}`);
  return printResponse(call, { message: 'Metric alert removed.' });
};
