//! The annotated function, read as far as generated code needs it.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, FnArg, GenericParam, Signature, Type, Visibility};

/// A function whose body stays raw tokens: a half-typed `event.` never keeps the attribute from
/// expanding, so an editor can go on completing.
pub(crate) struct Function {
    pub(crate) attributes: Vec<Attribute>,
    visibility: Visibility,
    pub(crate) signature: Signature,
    body: TokenStream,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self {
            attributes: input.call(Attribute::parse_outer)?,
            visibility: input.parse()?,
            signature: input.parse()?,
            body: input.parse()?,
        })
    }
}

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.attributes.iter().for_each(|attribute| attribute.to_tokens(tokens));
        self.visibility.to_tokens(tokens);
        self.signature.to_tokens(tokens);
        self.body.to_tokens(tokens);
    }
}

impl Function {
    pub(crate) fn has_body(&self) -> bool {
        self.body.to_string().starts_with('{')
    }

    /// Where a mistake of the whole function is shown.
    pub(crate) fn span(&self) -> Span {
        self.signature.ident.span()
    }

    /// The parameters that are not `self`.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = Parameter<'_>> {
        self.signature.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(typed) => {
                Some(Parameter { attributes: &typed.attrs, ty: peeled(&typed.ty) })
            }
            FnArg::Receiver(_) => None,
        })
    }

    /// The lifetimes it declares.
    pub(crate) fn lifetimes(&self) -> Vec<String> {
        let declared = self.signature.generics.params.iter().filter_map(|param| match param {
            GenericParam::Lifetime(param) => Some(param.lifetime.ident.to_string()),
            _ => None,
        });
        declared.collect()
    }
}

/// One parameter of the function.
#[derive(Clone, Copy)]
pub(crate) struct Parameter<'f> {
    pub(crate) attributes: &'f [Attribute],
    pub(crate) ty: &'f Type,
}

impl Parameter<'_> {
    /// The last segment of the type's path, behind any reference.
    pub(crate) fn type_name(&self) -> Option<String> {
        let Type::Path(path) = behind_references(self.ty) else { return None };
        Some(path.path.segments.last()?.ident.to_string())
    }
}

/// The type itself, where a `macro_rules!` or parentheses have wrapped it.
pub(crate) fn peeled(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Group(group) => &group.elem,
            Type::Paren(paren) => &paren.elem,
            _ => return ty,
        }
    }
}

/// The type that `&` and `&mut` lead to.
pub(crate) fn behind_references(mut ty: &Type) -> &Type {
    loop {
        ty = match peeled(ty) {
            Type::Reference(reference) => &reference.elem,
            other => return other,
        }
    }
}
