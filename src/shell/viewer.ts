import type { ReaderLanguage } from '../platform/i18n/languages.ts';

/**
 * operator  belongs to no publisher and has access to all of them
 * admin     of one publisher: settings, keys, endpoints and users
 * manager   of one publisher: offers, campaigns and deliveries
 * analyst   of one publisher: read only
 */
const roles = ['analyst', 'manager', 'admin', 'operator'] as const;
export type Role = (typeof roles)[number];

export const isRole = (name: string): name is Role => (roles as readonly string[]).includes(name);

/** Each role includes the ones before it. */
export const hasRole = (role: Role, required: Role): boolean => roles.indexOf(role) >= roles.indexOf(required);

export type User = {
  id: number;
  email: string;
  role: Role;
  /** null: operator. */
  publisherId: number | null;
  /** false: invited, no password set yet. */
  hasPassword: boolean;
  hasTwoFactor: boolean;
  /** Signs in at the OpenID provider, and has no password. */
  isLinked: boolean;
  disabled: boolean;
  /** null: by the browser's. */
  language: ReaderLanguage | null;
  createdAt: Date;
};

/** The signed-in user with their session. */
export type Viewer = { user: User; sessionId: string; byProvider: boolean; sessionToken: string; csrf: string };
