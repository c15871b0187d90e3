import { describe, expect, it } from '@jest/globals';
import { crowdedFolders, FILES_MAX } from './folder-sizes.mjs';

const filesIn = (folder: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${folder}/file-${String(index)}.ts`);

describe('the files at one level of a folder', () => {
  it('are refused when they are one more than the limit', () => {
    const planted = filesIn('shared/planted', FILES_MAX + 1);
    expect(crowdedFolders([...filesIn('shared/full', FILES_MAX), ...planted])).toEqual([
      { folder: 'shared/planted', count: FILES_MAX + 1 },
    ]);
  });

  it('do not include those of subfolders', () => {
    expect(crowdedFolders([...filesIn('shared/full', FILES_MAX), ...filesIn('shared/full/room', FILES_MAX)])).toEqual(
      [],
    );
  });

  it('are counted at the top of the checkout too', () => {
    const files = Array.from({ length: FILES_MAX + 1 }, (_, index) => `file-${String(index)}.md`);
    expect(crowdedFolders(files)).toEqual([{ folder: '.', count: FILES_MAX + 1 }]);
  });

  it('may be more where they are generated or numbered', () => {
    expect(crowdedFolders([...filesIn('schemas/generated/events', 90), ...filesIn('shared/decisions', 90)])).toEqual(
      [],
    );
  });
});
