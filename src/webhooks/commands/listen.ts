import { type Api, createApi } from '../../command-line/api.ts';
import { type Call, exitCodes, idOption, type Run, textOption, usageError } from '../../command-line/command.ts';
import { follow } from '../../command-line/follow.ts';
import { parseUrl } from '../../platform/lib/url.ts';
import { type Forwarded, type ForwardedDelivery, forward } from './forward.ts';

const path = '/manage/v1/webhook-listeners';

type Listener = { data: { id: number; secret: string; events: string[] } };

/** Forwards deliveries to a local server until the command is stopped. */
export const listen: Run = async (call) => {
  const url = textOption(call, 'forward');
  if (!/^https?:\/\//.test(url) || parseUrl(url) === null)
    throw usageError('Set the URL of your server: --forward http://localhost:3000/hook');
  const api = createApi(call);
  const events = textOption(call, 'events')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const body = { forward_url: url, ...(events.length > 0 && { events }) };
  const { data } = (await api.call('POST', path, { body })) as Listener;
  call.out.data({ listener: data.id, secret: data.secret, forward: url });
  call.out.line(`Forwarding webhooks to ${url}. Signing secret:\n  ${data.secret}\nPress Ctrl-C to stop.`);
  try {
    const listener = `${path}/${data.id}`;
    await follow(
      api,
      call,
      () => `${listener}/stream`,
      ({ name, data: text }) => {
        if (name === 'delivery') void handle(api, call, listener, url, JSON.parse(text) as ForwardedDelivery);
      },
    );
    return exitCodes.ok;
  } finally {
    await api.call('DELETE', `/manage/v1/webhook-endpoints/${data.id}`).catch(() => {});
  }
};

async function handle(api: Api, { out }: Call, path: string, url: string, delivery: ForwardedDelivery): Promise<void> {
  const answer = await forward(url, delivery);
  const { webhook_id: id, event, attempt } = delivery;
  const result = await report(api, path, delivery, answer);
  out.data({ delivery: delivery.delivery_id, webhook_id: id, event, attempt, ...resultOf(answer), recorded: result });
  out.line(`${event} ${id} attempt ${attempt} → ${textOf(answer)}, ${result}`);
}

const resultOf = ({ status, error, took_ms: tookMs }: Forwarded) => ({
  status: status ?? null,
  error: error ?? null,
  took_ms: tookMs,
});

const textOf = ({ status, error, took_ms: tookMs }: Forwarded): string =>
  `${status ?? `${error?.class}: ${error?.message}`} (${tookMs} ms)`;

/**
 * Reports a local server's response to the service.
 * @returns the outcome of the delivery, or the reason why the response was not recorded
 */
async function report(api: Api, path: string, delivery: ForwardedDelivery, answer: Forwarded): Promise<string> {
  const { delivery_id, attempt } = delivery;
  try {
    const body = { delivery_id, attempt, ...answer };
    // Use a separate signal, so that a received response is reported even while the command is stopping.
    const { signal } = new AbortController();
    const { data } = (await api.call('POST', `${path}/answers`, { body, signal })) as {
      data: { outcome: string; retry_in_ms: number | null };
    };
    return data.retry_in_ms === null ? data.outcome : `retry in ${Math.round(data.retry_in_ms / 1000)} s`;
  } catch (err) {
    return `not recorded: ${(err as Error).message}`;
  }
}

type TriggerResponse = { data: { event: string; deliveries: { id: string; webhook_id: string }[] } };

/** Sends a sample event to the listeners or to an endpoint. */
export const trigger: Run = async (call) => {
  const [event, ...rest] = call.args;
  if (event === undefined || rest.length > 0) throw usageError('Expected one event type, such as usp.selection.');
  const endpoint = idOption(call, 'endpoint');
  const body = { event, ...(endpoint !== null && { endpoint }) };
  const { data } = (await createApi(call).call('POST', '/manage/v1/webhook-triggers', { body })) as TriggerResponse;
  call.out.data(data);
  for (const { webhook_id: id } of data.deliveries) call.out.line(`${event} ${id}`);
  if (data.deliveries.length > 0) return exitCodes.ok;
  call.out.note(
    endpoint === null
      ? `No listener for ${event}. Run "perkwire listen --forward URL", or select an endpoint with --endpoint ID.`
      : `Endpoint ${endpoint} is not subscribed to ${event}.`,
  );
  return exitCodes.problem;
};
