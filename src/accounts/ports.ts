import type { CatalogDeps } from '../catalog/ports.ts';
import type { Authenticator } from '../platform/http/auth.ts';
import type { Caller } from './caller.ts';

/** What a feature that authenticates API keys takes. */
export type AccountDeps = CatalogDeps & { auth: Authenticator<Caller> };
