import { simulateCatchers } from '../../testing/simulation/catcher-seeds.ts';

simulateCatchers('even');
