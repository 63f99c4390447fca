/** What the package uses of React Native, which runs on phones alone. Refuses to open what is no web page. */
export const openedUrls: string[] = [];

export const Linking = {
  openURL: async (url: string): Promise<void> => {
    if (!url.startsWith('https://')) throw new Error('no app opens it');
    openedUrls.push(url);
  },
};
