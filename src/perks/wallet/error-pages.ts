import type { ErrorPages } from '../../platform/http/error-pages.ts';

/** Error pages of the wallet. */
export const walletErrorPages: ErrorPages = {
  wallet_not_enabled: { title: 'Not available', text: 'Offers cannot be saved here.' },
  invalid_token: {
    title: 'This link does not work',
    text: 'It is incomplete or has expired. Open your saved offers again.',
  },
};
