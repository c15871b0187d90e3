import { showProgress } from '../show-progress.ts';

/** Shows how far events are folded into a read model, and then how many of its documents are compared. */
export const showFolding = (name: string) => {
  let folding: ReturnType<typeof showProgress> | undefined;
  const comparing = showProgress(`documents of ${name} compared`);
  return (progress: { folded: number; head: number } | { compared: number }): void => {
    if ('compared' in progress) {
      comparing(progress.compared);
      return;
    }
    folding ??= showProgress(`positions of events folded into ${name}`, progress.head);
    folding(progress.folded);
  };
};
