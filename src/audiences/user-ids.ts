import { isPii } from '../catalog/names.ts';
import { textOrNull } from '../platform/http/body-parsing.ts';
import { type Problem, problem } from '../platform/problem.ts';

type Refusal = { code: 'invalid_request' | 'pub_user_id_is_pii'; message: Problem };

/** Parses a user ID with the same rules as in fetch requests. Also returns the reason why it is invalid, or null. */
export function refusalOfId(value: string | number): { id: string; refusal: Refusal | null } {
  const id = textOrNull(value) ?? '';
  const isReadable = id !== '' && id.length <= 256 && !id.includes('\0');
  if (!isReadable) return { id, refusal: { code: 'invalid_request', message: problem('idLong') } };
  const message = problem('userIdPii');
  return { id, refusal: isPii(id) ? { code: 'pub_user_id_is_pii', message } : null };
}
