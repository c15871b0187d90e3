/** Only the user of this process can read the files and folders that it makes from now on: stores, keys, a local chain. */
export const keepFilesPrivate = (): void => {
  process.umask(0o077);
};
