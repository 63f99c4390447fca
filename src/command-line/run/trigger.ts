import { createApi } from '../api.ts';
import { exitCodes, idOption, type Run, usageError } from '../command.ts';

type Answer = { data: { event: string; deliveries: { id: string; webhook_id: string }[] } };

/** Sends the sample of an event. */
export const trigger: Run = async (call) => {
  const [event, ...rest] = call.args;
  if (event === undefined || rest.length > 0) throw usageError('Name one event, such as usp.selection.');
  const endpoint = idOption(call, 'endpoint');
  const body = { event, ...(endpoint !== null && { endpoint }) };
  const { data } = (await createApi(call).call('POST', '/manage/v1/webhook-triggers', { body })) as Answer;
  call.out.data(data);
  for (const { webhook_id: id } of data.deliveries) call.out.line(`${event} ${id}`);
  if (data.deliveries.length > 0) return exitCodes.ok;
  call.out.note(
    endpoint === null
      ? `Nobody listens to ${event}. Start "perkwire listen --forward URL", or name an endpoint with --endpoint ID.`
      : `Endpoint ${endpoint} does not get ${event}.`,
  );
  return exitCodes.problem;
};
