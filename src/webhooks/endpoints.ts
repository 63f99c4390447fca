import type { Executor } from '../db/pool.ts';
import type { SecretBox } from '../security/secret-box.ts';

// placeholder until the feature's file lands
export async function saveEndpoint(_executor: Executor, _box: SecretBox, _endpoint: object): Promise<void> {}
