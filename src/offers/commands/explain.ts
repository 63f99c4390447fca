import { createApi } from '../../command-line/api.ts';
import { type Call, exitCodes, idOption, type Run, textOption, usageError } from '../../command-line/command.ts';

type Explained = { offer_id: number; title: string; position: number | null; reason: string };

/** Says why each offer is shown or not. Exits with 1 where --offer is not shown. */
export const explain: Run = async (call) => {
  const { args, out } = call;
  const [session, ...rest] = call.args;
  if (rest.length > 0) throw usageError('Name one session at most.');
  const api = createApi(call);
  if (session !== undefined) {
    const answer = await api.call('GET', `/manage/v1/sessions/${encodeURIComponent(session)}/decision`);
    const { data } = answer as { data: object };
    out.data(data);
    out.line(JSON.stringify(data, null, 2));
    return exitCodes.ok;
  }
  const offer = idOption(call, 'offer');
  const answer = await api.call('POST', '/manage/v1/explain', { body: requestOf(call) });
  const { data, message } = answer as { message: string; data: { offers: Explained[] } };
  const found = data.offers.filter((one) => offer === null || one.offer_id === offer);
  out.data(offer === null ? data : (found[0] ?? null));
  if (args.length === 0 && offer === null) out.line(message);
  for (const { position, offer_id: id, title, reason } of found)
    out.line(`${position === null ? '  –' : String(position).padStart(3)}  ${id}  ${title}: ${reason}`);
  if (offer === null) return exitCodes.ok;
  if (found.length === 0) out.note(`Offer ${offer} is not provisioned to this publisher.`);
  return found[0]?.position == null ? exitCodes.problem : exitCodes.ok;
};

function requestOf(call: Call): object {
  const text = textOption(call, 'body');
  const placement = textOption(call, 'placement');
  const user = textOption(call, 'user');
  const country = textOption(call, 'country');
  const body = {
    ...(text !== '' && parse(text)),
    ...(placement !== '' && { placement }),
    ...(user !== '' && { pub_user_id: user }),
    ...(country !== '' && { country }),
  };
  if (!('placement' in body)) throw usageError('Name a placement with --placement, or a session by its id.');
  return body;
}

function parse(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Said below.
  }
  throw usageError('--body must be a JSON object.');
}
