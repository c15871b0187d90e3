import { simulateCatchers } from '../testing/catcher-seeds.ts';

simulateCatchers('even');
