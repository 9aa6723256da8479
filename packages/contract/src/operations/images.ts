import * as z from 'zod';
import { operation } from '../operation.ts';

const example = 'npx://@modelcontextprotocol/server-everything@2026.7.4';

const source = z
  .string()
  .max(512)
  .meta({
    description: 'A package, as npx://, uvx:// or go://.',
    examples: [example],
  });

const Recipe = z
  .object({ dockerfile: z.string() })
  .meta({ id: 'Recipe', description: 'How a package becomes a container image.' });

const BuiltImage = z
  .object({ image: z.string().meta({ description: 'The name that the engine knows it by.' }) })
  .meta({ id: 'BuiltImage', description: 'An image that was made of a package.' });

export const imageOperations = {
  writeRecipe: operation({
    method: 'POST',
    path: '/images/recipe',
    tag: 'images',
    summary: 'Write down how a package becomes an image',
    description:
      'The Dockerfile that a build would use. Nothing is built, and no container engine is needed.',
    body: z.object({ source }).meta({ id: 'RecipeRequest', examples: [{ source: example }] }),
    success: { status: 200, description: 'The recipe.', body: Recipe },
    failures: ['unavailable'],
  }),
  buildImage: operation({
    method: 'POST',
    path: '/images',
    tag: 'images',
    summary: 'Make a container image of a package',
    body: z
      .object({
        source,
        tag: z
          .string()
          .min(1)
          .max(512)
          .optional()
          .meta({ description: 'The name of the image; made up when absent.' }),
      })
      .meta({ id: 'BuildRequest', examples: [{ source: example, tag: 'everything:1' }] }),
    success: { status: 201, description: 'The image is there.', body: BuiltImage },
    progress: true,
    failures: ['not-found', 'unavailable'],
  }),
};
