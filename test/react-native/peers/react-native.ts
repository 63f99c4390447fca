/**
 * Stub of the React Native APIs that the package uses, because React Native only runs on phones. `openURL` rejects URLs
 * that are not web pages.
 */
export const openedUrls: string[] = [];

export const Linking = {
  openURL: async (url: string): Promise<void> => {
    if (!url.startsWith('https://')) throw new Error('no app opens it');
    openedUrls.push(url);
  },
};
