import { createApi } from '../../command-line/api.ts';
import { type Call, exitCodes, idOption, type Run, textOption, usageError } from '../../command-line/command.ts';

type ShownOffer = { offer_id: number; campaign_id: number; position: number; score: number; propensity: number | null };
type Outcome = { offers: ShownOffer[]; empty_reason: string | null };
type Decision = Outcome & {
  session_id: string;
  created_at: string;
  snapshot_version: number;
  identical: boolean;
  replayed: Outcome;
};
type Explained = { offer_id: number; title: string; position: number | null; reason: string };

/**
 * Explains for each offer why it is or is not shown. If the offer specified with --offer is not shown, the exit code is
 * 1.
 */
export const explain: Run = async (call) => {
  const { args, out } = call;
  const [session, ...rest] = call.args;
  if (rest.length > 0) throw usageError('Expected at most one session ID.');
  const api = createApi(call);
  if (session !== undefined) {
    const answer = await api.call('GET', `/manage/v1/sessions/${encodeURIComponent(session)}/decision`);
    const { data, message } = answer as { message: string; data: Decision };
    out.data(data);
    for (const line of decisionText(data, message)) out.line(line);
    return exitCodes.ok;
  }
  const offer = idOption(call, 'offer');
  const answer = await api.call('POST', '/manage/v1/explain', { body: requestOf(call) });
  const { data, message } = answer as { message: string; data: { offers: Explained[] } };
  const matches = data.offers.filter((explained) => offer === null || explained.offer_id === offer);
  out.data(offer === null ? data : (matches[0] ?? null));
  if (args.length === 0 && offer === null) out.line(message);
  for (const { position, offer_id: id, title, reason } of matches)
    out.line(`${position === null ? '  –' : String(position).padStart(3)}  ${id}  ${title}: ${reason}`);
  if (offer === null) return exitCodes.ok;
  if (matches.length === 0) out.note(`Offer ${offer} is not provisioned to this publisher.`);
  return matches[0]?.position == null ? exitCodes.problem : exitCodes.ok;
};

/** Yields the lines that describe a session's decision. */
function* decisionText(decision: Decision, message: string): Generator<string> {
  const { session_id: id, created_at: at, snapshot_version: version, identical, replayed } = decision;
  yield `Session ${id}, decided at ${at} with catalogue version ${version}:`;
  yield* offersText(decision);
  yield `Repeated decision: ${message}`;
  if (!identical) yield* offersText(replayed);
}

function* offersText({ offers, empty_reason: reason }: Outcome): Generator<string> {
  for (const { position, offer_id: offer, campaign_id: campaign, score, propensity } of offers) {
    const share = propensity === null ? '' : `, shown there in ${(100 * propensity).toFixed(1)}% of draws`;
    const place = String(position).padStart(3);
    yield `${place}  offer ${offer} of campaign ${campaign}, score ${score.toPrecision(4)}${share}`;
  }
  if (offers.length === 0) yield `  –  no offer${reason === null ? '' : `: ${reason}`}`;
}

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
  if (!('placement' in body)) throw usageError('Expected --placement or a session ID.');
  return body;
}

function parse(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Ignore this error, because the error below reports the problem.
  }
  throw usageError('--body must be a JSON object.');
}
