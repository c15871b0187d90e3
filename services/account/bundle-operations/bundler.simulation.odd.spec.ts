import { simulateSeeds } from '../testing/simulated-seeds.ts';

simulateSeeds('odd');
