import { isPii } from '../catalog/names.ts';
import { textOrNull } from '../platform/http/body-parsing.ts';

type Problem = { code: 'invalid_request' | 'pub_user_id_is_pii'; message: string };

/** Reads a user id as in fetches, with the reason why it is invalid, or null. */
export function refusalOfId(value: string | number): { id: string; problem: Problem | null } {
  const id = textOrNull(value) ?? '';
  const isReadable = id !== '' && id.length <= 256 && !id.includes('\0');
  if (!isReadable) return { id, problem: { code: 'invalid_request', message: 'must have 1 to 256 characters' } };
  const message = 'must not be an e-mail address or a phone number';
  return { id, problem: isPii(id) ? { code: 'pub_user_id_is_pii', message } : null };
}
