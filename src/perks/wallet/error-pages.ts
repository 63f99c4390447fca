import type { ErrorPages } from '../../platform/http/error-pages.ts';

/** Error pages of the wallet. */
export const walletErrorPages: ErrorPages = ({ wallet }) => ({
  wallet_not_enabled: wallet.notEnabled,
  invalid_token: wallet.invalidLink,
});
