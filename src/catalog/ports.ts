import type { Caller } from '../accounts/caller.ts';
import type { Authenticator } from '../platform/http/auth.ts';
import type { PlatformDeps } from '../platform/ports.ts';
import type { CatalogStore } from './snapshot/store.ts';
import type { Permission } from './snapshot/types.ts';

/** What a feature that reads the catalogue or admits API keys takes. */
export type CatalogDeps = PlatformDeps & { catalog: CatalogStore; auth: Authenticator<Caller, Permission> };
